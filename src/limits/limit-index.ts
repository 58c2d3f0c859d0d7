import { ENDPOINT_NAMES, UNBILLED_ENDPOINTS, usesNothing } from "#catalog/endpoint.ts";
import { isSliding } from "./limit-window.ts";
import { MEASURES, type Limit, type LimitedRequest } from "./limit.ts";

/** Endpoints whose answers tell no tokens: those that are unbilled, and moderations, which may have a price by the request. */
const WITHOUT_TOKENS: ReadonlySet<string> = new Set(ENDPOINT_NAMES.filter(usesNothing));

/** True when requests of an endpoint are held against a limit and count in it (`docs/spec/endpoints.md`, "Fine print"). */
function isHeldAgainst({ measure, window }: Limit, endpoint: string): boolean {
  if (UNBILLED_ENDPOINTS.has(endpoint))
    return measure === "concurrent" || (measure === "requests" && window !== null && isSliding(window));
  return MEASURES[measure].units.length === 0 || !WITHOUT_TOKENS.has(endpoint);
}

/** Something that is found by the limit it belongs to. */
interface OfLimit {
  readonly limit: Limit;
}

/** Entries of one subject, by the model they name. */
interface ByModel<Entry> {
  readonly any: Entry[];
  readonly named: Map<string, Entry[]>;
}

/**
 * Finds the limits that hold for a request: a few look-ups, however many limits there are. An entry whose `each` the request
 * has no value of is passed over.
 */
export class LimitIndex<Entry extends OfLimit> {
  readonly #everybody: ByModel<Entry> = toEmpty();
  readonly #principals = new Map<string, ByModel<Entry>>();
  readonly #keys = new Map<string, ByModel<Entry>>();
  readonly #relayTokens = new Map<string, ByModel<Entry>>();
  readonly #tags = new Map<string, ByModel<Entry>>();
  readonly #fixedTags = new Map<string, ByModel<Entry>>();

  constructor(entries: Iterable<Entry>) {
    for (const entry of entries) put(this.#groupOf(entry.limit), entry);
  }

  /** Calls `found` for each entry, with its value of `each`; that is empty without one. */
  visit(request: LimitedRequest, found: (entry: Entry, value: string) => void): void {
    visitGroup(this.#everybody, request, found);
    if (this.#principals.size > 0) visitGroup(this.#principals.get(request.principalId), request, found);
    if (this.#keys.size > 0 && request.keyId !== null)
      visitGroup(this.#keys.get(request.keyId), request, found);
    if (this.#relayTokens.size > 0 && request.relayTokenId !== null)
      visitGroup(this.#relayTokens.get(request.relayTokenId), request, found);
    if (this.#tags.size > 0) for (const tag of request.tags) visitGroup(this.#tags.get(tag), request, found);
    if (this.#fixedTags.size > 0)
      for (const tag of request.fixedTags) visitGroup(this.#fixedTags.get(tag), request, found);
  }

  /** True when one of the entries matches that would hold for the request, were it for some other model. */
  someOfAnyModel(request: LimitedRequest, matches: (entry: Entry) => boolean): boolean {
    const groups = [
      this.#everybody,
      this.#principals.get(request.principalId),
      this.#keys.get(request.keyId ?? ""),
      this.#relayTokens.get(request.relayTokenId ?? ""),
      ...request.tags.map((tag) => this.#tags.get(tag)),
      ...request.fixedTags.map((tag) => this.#fixedTags.get(tag)),
    ];
    const holds = (entry: Entry) =>
      toEachValue(entry.limit, request) !== null &&
      isHeldAgainst(entry.limit, request.endpoint) &&
      matches(entry);
    return groups.some(
      (group) =>
        group !== undefined &&
        (group.any.some(holds) || group.named.values().some((named) => named.some(holds))),
    );
  }

  #groupOf({ subject, fixed }: Limit): ByModel<Entry> {
    switch (subject.kind) {
      case "everybody":
        return this.#everybody;
      case "principal":
        return getGroup(this.#principals, subject.id);
      case "key":
        return getGroup(this.#keys, subject.id);
      case "relay_token":
        return getGroup(this.#relayTokens, subject.id);
      default:
        return getGroup(fixed ? this.#fixedTags : this.#tags, subject.pair);
    }
  }
}

function toEmpty<Entry>(): ByModel<Entry> {
  return { any: [], named: new Map() };
}

function getGroup<Entry>(groups: Map<string, ByModel<Entry>>, name: string): ByModel<Entry> {
  const known = groups.get(name);
  if (known !== undefined) return known;
  const made = toEmpty<Entry>();
  groups.set(name, made);
  return made;
}

function put<Entry extends OfLimit>(group: ByModel<Entry>, entry: Entry): void {
  const { model, formerModels } = entry.limit;
  if (model === null) {
    group.any.push(entry);
    return;
  }
  for (const name of new Set([model, ...formerModels])) {
    const named = group.named.get(name);
    if (named === undefined) group.named.set(name, [entry]);
    else named.push(entry);
  }
}

function visitGroup<Entry extends OfLimit>(
  group: ByModel<Entry> | undefined,
  request: LimitedRequest,
  found: (entry: Entry, value: string) => void,
): void {
  if (group === undefined) return;
  for (const entry of group.any) visitEntry(entry, request, found);
  if (request.model === null || group.named.size === 0) return;
  for (const entry of group.named.get(request.model) ?? [])
    if (entry.limit.otherTargets === undefined || !isElsewhere(entry.limit, request))
      visitEntry(entry, request, found);
}

/** True when another model has taken the name that it asks for, which the limit's model had before. */
function isElsewhere({ model, otherTargets = [] }: Limit, request: LimitedRequest): boolean {
  if (request.model === model) return false;
  return otherTargets.some(
    ({ name, providerId, upstreamName }) =>
      name === request.model && providerId === request.providerId && upstreamName === request.upstreamName,
  );
}

function visitEntry<Entry extends OfLimit>(
  entry: Entry,
  request: LimitedRequest,
  found: (entry: Entry, value: string) => void,
): void {
  const value = toEachValue(entry.limit, request);
  if (value !== null && isHeldAgainst(entry.limit, request.endpoint)) found(entry, value);
}

/** Null where the request has none: it has no key, or not that tag. */
function toEachValue(
  { each, fixed }: Pick<Limit, "each" | "fixed">,
  { principalId, keyId, tags, fixedTags }: LimitedRequest,
): string | null {
  if (each === null) return "";
  if (each.kind === "principal") return principalId;
  if (each.kind === "key") return keyId;
  const { key } = each;
  return (fixed ? fixedTags : tags).find((tag) => tag.startsWith(key) && tag[key.length] === ":") ?? null;
}

import { ProxyError } from "#kernel/errors.ts";
import { toHint } from "#kernel/nearest.ts";
import { CAPABILITIES_DEFAULT } from "./capability.ts";
import {
  type ModelDraft,
  type ModelPatch,
  parseAlias,
  parseCapabilities,
  parseUpstreamName,
} from "./model-draft.ts";
import type { Route } from "./model.ts";
import { toProviderNotFound } from "./provider.ts";
import type { CatalogPicture, ResolvedModel } from "./snapshot.ts";

export interface DraftRoute {
  readonly alias: string;
  /** Throws `provider_not_found` and `invalid_target`. */
  readonly toRoute: (current: CatalogPicture) => Route;
}

/**
 * Either a provider's model or a name for another model (specification, section 2.4), never both.
 * Throws `invalid_target`, `invalid_name`, and `invalid_request` for what is missing.
 */
export function parseDraftRoute(draft: ModelDraft): DraftRoute {
  const { target = "", provider, upstreamName } = draft;
  if (target !== "") {
    if (provider !== undefined || upstreamName !== undefined) {
      throw refuseTarget(
        "A model is either a name for a target or has provider and upstream_name, not both.",
      );
    }
    if (draft.alias === undefined || draft.alias === "") {
      throw new ProxyError("invalid_request", "A name for a target needs an alias.", { param: "alias" });
    }
    const alias = parseAlias(draft.alias);
    // Capabilities beside a target are ignored: they are the target's.
    return { alias, toRoute: (current) => toNameRoute(current, { target, alias, ownId: null }) };
  }
  if (provider === undefined) throw refuseMissing("provider");
  if (upstreamName === undefined) throw refuseMissing("upstream_name");
  const parsedName = parseUpstreamName(upstreamName);
  const capabilities =
    draft.capabilities === undefined ? CAPABILITIES_DEFAULT : parseCapabilities(draft.capabilities);
  return {
    alias: parseAlias(draft.alias === undefined || draft.alias === "" ? parsedName : draft.alias),
    toRoute: (current) => ({
      kind: "binding",
      providerId: getProviderId(current, provider),
      upstreamName: parsedName,
      capabilities,
    }),
  };
}

/**
 * The transitions of section 3: a binding stays one or becomes a name, a name is pointed elsewhere or becomes a binding.
 * Throws `invalid_name` and `invalid_request` at once; what it returns throws `invalid_target` and `provider_not_found`.
 */
export function parsePatchRoute(
  patch: ModelPatch,
): (current: CatalogPicture, before: ResolvedModel) => Route {
  const { target, provider } = patch;
  const upstreamName = patch.upstreamName === undefined ? undefined : parseUpstreamName(patch.upstreamName);
  const capabilities = patch.capabilities === undefined ? undefined : parseCapabilities(patch.capabilities);
  const sendsBinding = provider !== undefined || upstreamName !== undefined || capabilities !== undefined;

  return (current, { model, bound, capabilities: capabilitiesInForce }) => {
    const staysName = model.route.kind === "name" && target === undefined;
    if (sendsBinding && (staysName || (target !== undefined && target !== ""))) {
      throw refuseTarget(
        "provider, upstream_name and capabilities of a name are its target's and cannot be sent with it.",
      );
    }
    if (target === undefined && model.route.kind === "name") return model.route;
    if (target !== undefined && target !== "") {
      if (current.namesFor(model.id).length > 0) {
        throw refuseTarget("Names point at this model, so that it cannot become a name itself.");
      }
      return toNameRoute(current, { target, alias: patch.alias ?? model.alias, ownId: model.id });
    }
    if (target === "" && (provider === undefined || upstreamName === undefined)) {
      throw refuseTarget(
        "An empty target makes a model route by itself, which needs provider and upstream_name with it.",
      );
    }
    if (bound.route.kind !== "binding") throw new Error("a resolved model is bound to a provider");
    return {
      kind: "binding",
      providerId: provider === undefined ? bound.route.providerId : getProviderId(current, provider),
      upstreamName: upstreamName ?? bound.route.upstreamName,
      // A name that becomes a binding keeps what it could do until now.
      capabilities: capabilities ?? capabilitiesInForce,
    };
  };
}

interface NameRoute {
  readonly target: string;
  /** The alias of the model itself, as it will be. */
  readonly alias: string;
  /** Null while the model is being made. */
  readonly ownId: string | null;
}

/** One hop: a target routes to a provider itself, and is another model. */
function toNameRoute(current: CatalogPicture, { target, alias, ownId }: NameRoute): Route {
  const found = current.findModel(target)?.model;
  if (target === alias || (found !== undefined && found.id === ownId)) {
    throw refuseTarget("A model cannot be a name for itself.");
  }
  if (found === undefined) {
    const hint = toHint(
      target,
      current.models.map(({ model }) => model.alias),
    );
    throw refuseTarget(`The target is no model of this catalog.${hint}`);
  }
  if (found.route.kind === "name") {
    throw refuseTarget("The target is itself a name. Point at the model that routes to a provider.");
  }
  return { kind: "name", targetId: found.id };
}

function getProviderId(current: CatalogPicture, name: string): string {
  const provider = current.findProvider(name);
  if (provider === null) throw toProviderNotFound(current, name, "provider");
  return provider.id;
}

function refuseTarget(message: string): ProxyError {
  return new ProxyError("invalid_target", message, { param: "target" });
}

function refuseMissing(param: "provider" | "upstream_name"): ProxyError {
  return new ProxyError(
    "invalid_request",
    `${param} is missing: a model needs provider and upstream_name, or a target with an alias.`,
    { param },
  );
}

import type { RouteInput } from "#kernel/route-request.ts";
import type { Api } from "./controllers.ts";
import type { ParamOf } from "./door/route.ts";

/** The types of the interface's clients, made from the routes themselves; what is sent is made by `kernel/route-request`. */

type Routes = { [Served in Api as `${Served["method"]} ${Served["path"]}`]: Served };
/** `PATCH /my/keys/:id` */
export type RouteName = keyof Routes;

type TypesOf<Name extends RouteName> = NonNullable<Routes[Name]["types"]>;
/** The JSON that a route answers with. */
export type AnswerOf<Name extends RouteName> = TypesOf<Name>["answer"];
/** The JSON that a route takes; undefined where it takes none. */
export type BodyOf<Name extends RouteName> = ReadOnly<TypesOf<Name>["body"]>;

type ReadOnly<Value> = Value extends readonly (infer Element)[]
  ? readonly ReadOnly<Element>[]
  : Value extends object
    ? { readonly [Field in keyof Value]: ReadOnly<Value[Field]> }
    : Value;

type InputOf<Name extends RouteName> = Omit<RouteInput, "params" | "body"> &
  ([ParamOf<Routes[Name]["path"]>] extends [never]
    ? unknown
    : { readonly params: { readonly [name in ParamOf<Routes[Name]["path"]>]: string } }) &
  ([BodyOf<Name>] extends [undefined] ? unknown : { readonly body: BodyOf<Name> });

/** The arguments of a call: a route, and what it needs. */
export type CallOf<Name extends RouteName> =
  object extends InputOf<Name>
    ? readonly [route: Name, input?: InputOf<Name>]
    : readonly [route: Name, input: InputOf<Name>];

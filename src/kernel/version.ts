/** The version of the product: that of `package.json` and of the newest part of the changelog (`tests/docs/version.test.ts`). */
export const PRODUCT_VERSION = "0.1.0";

/** The version of the interface (specification, section 9): of the command line and of the OpenAPI document. */
export const INTERFACE_VERSION = "1.0.0";

/** The build puts it in (`build.ts`). */
declare const LOCKPORT_COMMIT: string | undefined;

/** The commit that the executable was made of, such as `166cc01b8e03`, or `166cc01b8e03-dirty`; null from source. */
export const PRODUCT_COMMIT: string | null = typeof LOCKPORT_COMMIT === "string" ? LOCKPORT_COMMIT : null;

/** The version of the product: that of `package.json` and of the newest part of the changelog (`tests/docs/version.test.ts`). */
export const PRODUCT_VERSION = "0.1.0";

/** The version of the interface (specification, section 9): of the command line and of the OpenAPI document. */
export const INTERFACE_VERSION = "1.0.0";

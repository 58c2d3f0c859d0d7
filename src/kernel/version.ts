/** The version of the interface (specification, section 9): of the command line and of the OpenAPI document. */
export const INTERFACE_VERSION = "1.0.0";

/** SQL imported as text, so that it lies inside the compiled executable. */
declare module "*.sql" {
  const text: string;
  export = text;
}

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { reloadOnLoginLink, takeLoginToken } from "./shell/login-token.ts";
import { reloadOnceWhenStale } from "./stale.ts";

reloadOnceWhenStale();
reloadOnLoginLink();
const loginToken = takeLoginToken();
const root = document.querySelector("#root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <App loginToken={loginToken} />
    </StrictMode>,
  );
}

import { findFreePort } from "../../support/free-port.ts";
import { makeFolder } from "../../support/folder.ts";
import { until } from "../../support/waiting.ts";
import { eventually } from "./waiting.ts";

/**
 * A browser of another engine, driven by the protocols that it has itself: Playwright drives Firefox and WebKit only in builds
 * of its own, which no distribution has.
 */
export interface Engine {
  /** Opens an address and waits until its document has loaded. */
  open(url: string): Promise<void>;
  /** The value of an expression in the page, or of its promise, as JSON has it. */
  evaluate(expression: string): Promise<unknown>;
  /** Sources of input with their actions, as the WebDriver standard has them. */
  perform(actions: readonly unknown[]): Promise<void>;
  /** Lines that the page has put on its console, and its uncaught errors; WebKit's driver tells of none. */
  readonly said: readonly string[];
  stop(): Promise<void>;
}

const WINDOW = { width: 1440, height: 900 };

/** Firefox without a window, over WebDriver BiDi. */
export async function startFirefox(path: string): Promise<Engine> {
  const folder = makeFolder();
  const child = Bun.spawn(
    [path, "--headless", "--no-remote", "--remote-debugging-port=0", "--profile", folder.path],
    { stdout: "ignore", stderr: "pipe" },
  );
  const stop = async () => {
    child.kill();
    await child.exited;
    folder.remove();
  };
  try {
    const socket = new WebSocket(`${await findLine(child.stderr, /listening on (ws:\S+)/)}/session`);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", reject);
    });
    const said: string[] = [];
    const waiting = new Map<number, PromiseWithResolvers<Reply>>();
    socket.addEventListener("message", ({ data }) => {
      const reply: Reply = JSON.parse(String(data));
      if (reply.method === "log.entryAdded") said.push(String(reply.params?.["text"]));
      else if (reply.id !== undefined) waiting.get(reply.id)?.resolve(reply);
    });
    let last = 0;
    const send = async (method: string, params: object) => {
      const id = ++last;
      const answer = Promise.withResolvers<Reply>();
      waiting.set(id, answer);
      socket.send(JSON.stringify({ id, method, params }));
      const { result, error, message } = await answer.promise;
      if (result === undefined) throw new Error(`${method}: ${error}: ${message}`);
      return result;
    };
    await send("session.new", { capabilities: {} });
    await send("session.subscribe", { events: ["log.entryAdded"] });
    const { context } = await send("browsingContext.create", { type: "tab" });
    await send("browsingContext.setViewport", { context, viewport: WINDOW });
    return {
      said,
      stop,
      open: async (url) => void (await send("browsingContext.navigate", { context, url, wait: "complete" })),
      perform: async (actions) => void (await send("input.performActions", { context, actions })),
      async evaluate(expression) {
        const params = { expression: toJson(expression), target: { context }, awaitPromise: true };
        const { result, exceptionDetails } = await send("script.evaluate", params);
        if (exceptionDetails !== undefined)
          throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`);
        return JSON.parse((result as { value: string }).value);
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Reply {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: string;
  readonly message?: string;
}

/** WebKitGTK, over WebDriver, by the `WebKitWebDriver` at this path; it needs a display, such as `xvfb-run` gives. */
export async function startWebKit(path: string): Promise<Engine> {
  const port = findFreePort();
  const child = Bun.spawn([path, `--port=${port}`, "--host=127.0.0.1"], {
    // Root may not make the namespaces of its sandbox.
    env: {
      ...process.env,
      ...(process.getuid?.() === 0 && { WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1" }),
    },
    stdout: "ignore",
    stderr: "ignore",
  });
  const call = async (way: string, body?: object) => {
    const response = await fetch(`http://127.0.0.1:${port}/session${way}`, {
      method: body === undefined ? "DELETE" : "POST",
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const { value } = (await response.json()) as { value: unknown };
    if (!response.ok) throw new Error(`${way}: ${JSON.stringify(value)}`);
    return value;
  };
  const end = async () => {
    child.kill();
    await child.exited;
  };
  try {
    await until(
      () =>
        fetch(`http://127.0.0.1:${port}/status`).then(
          () => true,
          () => false,
        ),
      () => `${path} does not listen`,
    );
    const { sessionId } = (await call("", { capabilities: {} })) as { sessionId: string };
    await call(`/${sessionId}/window/rect`, { x: 0, y: 0, ...WINDOW });
    return {
      said: [],
      open: async (url) => void (await call(`/${sessionId}/url`, { url })),
      perform: async (actions) => void (await call(`/${sessionId}/actions`, { actions })),
      async evaluate(expression) {
        const script = `const done = arguments[0]; ${toJson(expression)}.then(done, (error) => done(JSON.stringify({ failed: String(error) })));`;
        return JSON.parse(String(await call(`/${sessionId}/execute/async`, { script, args: [] })));
      },
      async stop() {
        try {
          await call(`/${sessionId}`);
        } finally {
          await end();
        }
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Presses the element that this XPath finds, with the mouse, once it can be reached. */
export async function press(engine: Engine, xpath: string): Promise<void> {
  const point = await eventually(async () => {
    const found = await engine.evaluate(`(() => {
      const element = ${toElement(xpath)};
      element?.scrollIntoView({ block: "center" });
      const { x = 0, y = 0, width = 0, height = 0 } = element?.getBoundingClientRect() ?? {};
      const middle = { x: Math.round(x + width / 2), y: Math.round(y + height / 2) };
      const top = document.elementFromPoint(middle.x, middle.y);
      return top !== null && element?.contains(top) ? middle : null;
    })()`);
    if (found === null) throw new Error(`cannot be pressed: ${xpath}`);
    return found as { readonly x: number; readonly y: number };
  });
  const actions = [
    { type: "pointerMove", ...point },
    { type: "pointerDown", button: 0 },
    { type: "pointerUp", button: 0 },
  ];
  await engine.perform([{ type: "pointer", id: "mouse", actions }]);
}

/** Types into whatever has the focus. */
export async function type(engine: Engine, text: string): Promise<void> {
  const actions = Array.from(text).flatMap((value) => [
    { type: "keyDown", value },
    { type: "keyUp", value },
  ]);
  await engine.perform([{ type: "key", id: "keyboard", actions }]);
}

/** The text of what this XPath finds, once it is there. */
export async function read(engine: Engine, xpath: string): Promise<string> {
  return await eventually(async () => {
    const text = await engine.evaluate(
      `(({ value, innerText }) => value ?? innerText)(${toElement(xpath)} ?? {})`,
    );
    if (typeof text !== "string") throw new Error(`not on the page: ${xpath}`);
    return text;
  });
}

function toElement(xpath: string): string {
  return `document.evaluate(${JSON.stringify(xpath)}, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue`;
}

function toJson(expression: string): string {
  return `Promise.resolve(${expression}).then((value) => JSON.stringify(value ?? null))`;
}

async function findLine(stream: ReadableStream<Uint8Array>, pattern: RegExp): Promise<string> {
  for await (const line of readLines(stream)) {
    const found = pattern.exec(line)?.[1];
    if (found !== undefined) return found;
  }
  throw new Error(`it ended before it said ${pattern.source}`);
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

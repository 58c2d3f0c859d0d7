import { containsOwnToken, SECRET_LENGTH } from "#identity/secret.ts";
import { LOGIN_LINK_PREFIX } from "#identity/login-links.ts";
import { CommandError } from "#cli/screen/failure.ts";

/** What people expect a secret's option to be called; none of them exists. */
const SECRET_OPTION = /^--(?:api-key|password|token|secret|credential)(?:=|$)/;

/**
 * What providers' keys begin with. Behind it come at least so many characters, 16 of them in a row letters and digits: no
 * name of a model or a person has that.
 */
const PROVIDER_KEY_PREFIXES = [
  "AIza",
  "csk-",
  "fw_",
  "ghp_",
  "github_pat_",
  "gsk_",
  "hf_",
  "nvapi-",
  "pplx-",
  "r8_",
  "sk-",
  "tgp_v1_",
  "xai-",
] as const;
const PROVIDER_KEY = new RegExp(
  `(?<![0-9A-Za-z])(?:${PROVIDER_KEY_PREFIXES.join("|")})(?=[\\w-]{20})[\\w-]*?[0-9A-Za-z]{16}`,
);
const LOGIN_TOKEN = new RegExp(`${LOGIN_LINK_PREFIX}[0-9A-Za-z]{${SECRET_LENGTH}}`);

/** What an argument holds that belongs into none, and what to do about it. */
const SECRETS: readonly (readonly [isHeld: (arg: string) => boolean, sentence: string])[] = [
  [
    containsOwnToken,
    "One of the arguments is an API key or a relay token, which the shell's history keeps now: delete it by its id (lockport key list, lockport relay-token list) and make another. Commands take ids and names only.",
  ],
  [
    (arg) => LOGIN_TOKEN.test(arg),
    "One of the arguments holds a login link, which the shell's history keeps now: open it in a browser, which uses it up. Commands take the server's address alone.",
  ],
  [
    (arg) => PROVIDER_KEY.test(arg),
    "One of the arguments looks like a provider's API key, which the shell's history keeps now: if it is a real one, replace it there. A provider's key comes with --api-key-file PATH, with --api-key-file - from stdin, or from the prompt on a terminal.",
  ],
];

/**
 * Refuses secrets among the arguments, where every user of the machine can list them and the shell's history keeps them.
 * Throws a `CommandError` that says what to do instead and repeats nothing.
 */
export function refuseSecrets(args: readonly string[]): void {
  const option = args.find((arg) => SECRET_OPTION.test(arg));
  if (option !== undefined) {
    throw new CommandError(
      "usage",
      `${option.split("=", 1)[0]} does not exist: every user of this machine can read the arguments of a command, and the shell's history keeps them. A provider's API key comes with --api-key-file PATH, with --api-key-file - from stdin, or from the prompt on a terminal; your own with the variable LOCKPORT_API_KEY. If what you typed was a real one, replace it.`,
    );
  }
  const [, sentence] = SECRETS.find(([isHeld]) => args.some(isHeld)) ?? [];
  if (sentence !== undefined) throw new CommandError("usage", sentence);
}

import { lexer, type MarkedToken, type Token } from "marked";
import { Fragment, type ReactNode } from "react";
import { CodeBlock, InlineCode } from "../../components/code.tsx";

/**
 * A model's Markdown (GitHub's kind) as elements. HTML in it stays text, a picture is a link, and a link leads to the web
 * or a mailbox only: an answer cannot make the page load or run anything.
 */
export function Markdown({ text }: { readonly text: string }): ReactNode {
  return (
    <div className="flex max-w-[80ch] min-w-0 flex-col gap-3 leading-6 break-words">
      <Tokens tokens={lexer(text, { gfm: true, breaks: true })} />
    </div>
  );
}

function Tokens({ tokens }: { readonly tokens: readonly Token[] }): ReactNode {
  return tokens.filter(isMarked).map((token, index) => <Fragment key={index}>{draw(token)}</Fragment>);
}

/** Extensions alone make other tokens, and there are none. One without a text draws nothing. */
function isMarked(token: Token): token is MarkedToken {
  return token.raw !== "";
}

function draw(token: MarkedToken): ReactNode {
  switch (token.type) {
    case "paragraph":
      return <p>{inside(token)}</p>;
    case "heading":
      // The page has its own headings: these do not join its outline.
      return (
        <p className={token.depth <= 2 ? "text-base font-semibold" : "font-semibold"}>{inside(token)}</p>
      );
    case "code":
      return <CodeBlock code={token.text} language={token.lang ?? "Code"} wrap />;
    case "blockquote":
      return <blockquote className="border-l-2 border-line pl-3 text-ink-soft">{inside(token)}</blockquote>;
    case "list": {
      const items = token.items.map((item, index) => <li key={index}>{inside(item)}</li>);
      return token.ordered ? (
        <ol className="list-decimal space-y-1 pl-6" start={token.start === "" ? 1 : token.start}>
          {items}
        </ol>
      ) : (
        <ul className="list-disc space-y-1 pl-6">{items}</ul>
      );
    }
    case "table":
      return (
        <div className="max-w-full overflow-x-auto" tabIndex={0} role="region" aria-label="Table">
          <table className="border-collapse text-sm">
            <thead>
              <tr>{token.header.map((cell, index) => toCell("th", cell, index))}</tr>
            </thead>
            <tbody>
              {token.rows.map((row, at) => (
                <tr key={at}>{row.map((cell, index) => toCell("td", cell, index))}</tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case "hr":
      return <hr className="border-line" />;
    case "br":
      return <br />;
    case "strong":
      return <strong>{inside(token)}</strong>;
    case "em":
      return <em>{inside(token)}</em>;
    case "del":
      return <del>{inside(token)}</del>;
    case "codespan":
      return <InlineCode>{token.text}</InlineCode>;
    case "link":
    case "image":
      return toLink(token.href, token.type === "link" ? inside(token) : token.text || token.href);
    case "checkbox":
      return token.checked ? "☑ " : "☐ ";
    case "text":
      return token.tokens === undefined ? token.text : inside(token);
    case "escape":
      return token.text;
    case "html":
      return <span className="whitespace-pre-wrap">{token.raw}</span>;
    default:
      return null;
  }
}

function inside({ tokens = [] }: { readonly tokens?: readonly Token[] }): ReactNode {
  return <Tokens tokens={tokens} />;
}

function toCell(Cell: "th" | "td", { tokens }: { readonly tokens: readonly Token[] }, index: number) {
  return (
    <Cell key={index} className="border border-line px-2 py-1 text-left align-top">
      <Tokens tokens={tokens} />
    </Cell>
  );
}

function toLink(href: string, children: ReactNode): ReactNode {
  if (!/^(https?|mailto):/i.test(href)) return children;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" className="text-accent underline">
      {children}
    </a>
  );
}

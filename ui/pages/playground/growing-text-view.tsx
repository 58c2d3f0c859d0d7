import { memo } from "react";
import type { GrowingText } from "./growing-text.ts";

/** A model's text as it is, every space and line break of it; never read as markup. */
export function GrowingTextView({ text }: { readonly text: GrowingText }) {
  return (
    <div className="max-w-[80ch] leading-6 break-words whitespace-pre-wrap">
      {text.closed.map((piece, index) => (
        <Piece key={index} text={piece} />
      ))}
      {text.open !== "" && <div>{text.open}</div>}
    </div>
  );
}

/** Never drawn again. */
const Piece = memo(function Piece({ text }: { readonly text: string }) {
  return <div>{text}</div>;
});

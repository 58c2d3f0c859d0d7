import { expect, test } from "bun:test";
import {
  type Colour,
  parseHex,
  type Sight,
  simulate,
  toContrast,
  toDistance,
  toHue,
} from "../support/colour.ts";
import { HEAT_SHADES } from "../../ui/charts/heat-map.tsx";

/** WCAG 2.2, 1.4.3 for text and 1.4.11 for what a control or a chart is recognised by. */
const TEXT_CONTRAST_MIN = 4.5;
const GRAPHIC_CONTRAST_MIN = 3;
/** In hundredths of OKLab, where about 2 is just seen side by side; a mark of a legend is seen far from its bar. */
const OUTCOME_DISTANCE_MIN = 14;
const SERIES_DISTANCE_MIN = 8;

const SIGHTS = ["full", "protanopia", "deuteranopia", "tritanopia"] as const satisfies readonly Sight[];
const THEMES = ["light", "dark"] as const;
type Theme = (typeof THEMES)[number];

const SURFACES = ["bg", "surface", "raised", "sunken", "hover", "accent-soft"];
const TEXTS = ["ink", "ink-soft", "ink-faint", "accent", "good", "warn", "bad"];
const TEXT_PAIRS: readonly (readonly [text: string, background: string])[] = [
  ...TEXTS.flatMap((text) => SURFACES.map((surface) => [text, surface] as const)),
  ...["good", "warn", "bad"].flatMap((tone) =>
    [tone, "ink", "ink-soft"].map((text) => [text, `${tone}-soft`] as const),
  ),
  ["accent-ink", "accent"],
  ["accent-ink", "accent-strong"],
  ["accent", "accent-soft"],
  ["accent-strong", "surface"],
  ["bad-ink", "bad"],
  ["bad-ink", "bad-strong"],
  // The tooltip is the page turned inside out.
  ["bg", "ink"],
];

const OUTCOMES = ["ok", "upstream-error", "unreachable", "cancelled"];
const SERIES = [...Array.from({ length: 8 }, (_, index) => `series-${index + 1}`), "series-other"];
const GRAPHICS = ["line-strong", "focus", "accent", ...OUTCOMES, ...SERIES];
/** Where charts, controls and marks are drawn. */
const CANVASES = ["bg", "surface", "raised"];

const tokens = await readTokens();

for (const theme of THEMES) {
  test(`every text reaches ${TEXT_CONTRAST_MIN} on every background it stands on, ${theme}`, () => {
    const weak = TEXT_PAIRS.map(([text, background]) => ({
      pair: `${text} on ${background}`,
      contrast: toContrast(colour(text, theme), colour(background, theme)),
    })).filter(({ contrast }) => contrast < TEXT_CONTRAST_MIN);
    expect(weak).toEqual([]);
  });

  test(`every line of a control, mark and series reaches ${GRAPHIC_CONTRAST_MIN} where it is drawn, ${theme}`, () => {
    const weak = GRAPHICS.flatMap((graphic) =>
      CANVASES.map((canvas) => ({
        pair: `${graphic} on ${canvas}`,
        contrast: toContrast(colour(graphic, theme), colour(canvas, theme)),
      })),
    ).filter(({ contrast }) => contrast < GRAPHIC_CONTRAST_MIN);
    expect(weak).toEqual([]);
  });

  test(`the numbers of a heat map reach ${TEXT_CONTRAST_MIN} on each of its shades, ${theme}`, () => {
    for (const { color, from, to } of Object.values(HEAT_SHADES)) {
      const name = color.slice("var(--color-".length, -1);
      for (const shade of [from, (from + to) / 2, to]) {
        const cell = parseHex(mix(hexOf("surface", theme), hexOf(name, theme), shade));
        expect(toContrast(cell, colour("ink", theme))).toBeGreaterThanOrEqual(TEXT_CONTRAST_MIN);
      }
    }
  });

  for (const sight of SIGHTS) {
    test(`outcomes and series are told apart by an eye with ${sight} sight, ${theme}`, () => {
      expect(findNearest(OUTCOMES, theme, sight)).toBeGreaterThanOrEqual(OUTCOME_DISTANCE_MIN);
      expect(findNearest(SERIES, theme, sight)).toBeGreaterThanOrEqual(SERIES_DISTANCE_MIN);
    });
  }
}

test("the eight series have eight hues, the same ones in both themes", () => {
  const hues = SERIES.slice(0, 8).map((name) => THEMES.map((theme) => toHue(colour(name, theme))));
  for (const [light = 0, dark = 0] of hues) expect(toAngle(light, dark)).toBeLessThan(20);
  for (const theme of [0, 1]) {
    const own = hues.map((pair) => pair[theme] ?? 0);
    const nearest = own.flatMap((hue, index) => own.slice(index + 1).map((other) => toAngle(hue, other)));
    expect(Math.min(...nearest)).toBeGreaterThan(20);
  }
});

/** From 0 to 180 degrees. */
function toAngle(hue: number, other: number): number {
  const apart = Math.abs(hue - other);
  return Math.min(apart, 360 - apart);
}

test("the measures can fail: grey on white, red beside green without the cones for them, a colour beside itself", () => {
  const white = parseHex("#ffffff");
  expect(toContrast(parseHex("#000000"), white)).toBeCloseTo(21, 5);
  expect(toContrast(parseHex("#767676"), white)).toBeCloseTo(4.54, 2);
  expect(toContrast(parseHex("#777777"), white)).toBeLessThan(TEXT_CONTRAST_MIN);
  const [red, green] = [parseHex("#c0504d"), parseHex("#7a8a3a")];
  expect(toDistance(red, green)).toBeGreaterThan(OUTCOME_DISTANCE_MIN);
  expect(toDistance(simulate(red, "deuteranopia"), simulate(green, "deuteranopia"))).toBeLessThan(
    OUTCOME_DISTANCE_MIN,
  );
  expect(toDistance(red, red)).toBe(0);
  expect(() => parseHex("#ffff")).toThrow();
});

test("every colour of the page has a value for both themes, and no colour of Tailwind's own is left", async () => {
  const css = await Bun.file(new URL("../../ui/styles.css", import.meta.url)).text();
  const named = [...css.matchAll(/--color-([a-z0-9-]+):/gu)].map(([, name]) => name!);
  expect(css).toContain("--color-*: initial;");
  expect(named.toSorted()).toEqual([...tokens.keys(), "backdrop"].toSorted());
});

type Pair = Readonly<Record<Theme, string>>;

async function readTokens(): Promise<ReadonlyMap<string, Pair>> {
  const css = await Bun.file(new URL("../../ui/styles.css", import.meta.url)).text();
  const lines = css.matchAll(/--color-([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/gu);
  return new Map([...lines].map(([, name, light, dark]) => [name!, { light: light!, dark: dark! }]));
}

function hexOf(name: string, theme: Theme): string {
  const pair = tokens.get(name);
  if (pair === undefined) throw new Error(`ui/styles.css has no --color-${name}`);
  return pair[theme];
}

function colour(name: string, theme: Theme): Colour {
  return parseHex(hexOf(name, theme));
}

/** As a browser draws one that covers this share of the other. */
function mix(under: string, over: string, share: number): string {
  const part = (hex: string, at: number) => Number.parseInt(hex.slice(at, at + 2), 16);
  const parts = [1, 3, 5].map((at) => Math.round(part(under, at) * (1 - share) + part(over, at) * share));
  return `#${parts.map((one) => one.toString(16).padStart(2, "0")).join("")}`;
}

/** The distance of the two colours that are easiest to confuse. */
function findNearest(names: readonly string[], theme: Theme, sight: Sight): number {
  const seen = names.map((name) => simulate(colour(name, theme), sight));
  return Math.min(
    ...seen.flatMap((left, index) => seen.slice(index + 1).map((right) => toDistance(left, right))),
  );
}

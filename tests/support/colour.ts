/** Colour arithmetic for the tests of the page's tokens: contrast as WCAG 2.2 counts it, and what a colour-blind eye sees. */

/** Linear-light sRGB, each from 0 to 1. */
export type Colour = readonly [red: number, green: number, blue: number];

export type Sight = "full" | "protanopia" | "deuteranopia" | "tritanopia";

/** `#rrggbb` to linear light; throws on anything else, since a token with alpha has no contrast of its own. */
export function parseHex(hex: string): Colour {
  const digits = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/iu.exec(hex);
  if (digits === null) throw new Error(`${hex} is no #rrggbb`);
  const [red, green, blue] = digits.slice(1).map((pair) => toLinear(Number.parseInt(pair, 16) / 255));
  return [red!, green!, blue!];
}

/** From 1 to 21 (WCAG 2.2, "contrast ratio"). */
export function toContrast(left: Colour, right: Colour): number {
  const [darker, lighter] = [toLuminance(left), toLuminance(right)].sort((a, b) => a - b);
  return (lighter! + 0.05) / (darker! + 0.05);
}

/** How far apart two colours look: distance in OKLab times 100; about 2 is just seen side by side. */
export function toDistance(left: Colour, right: Colour): number {
  const [l, r] = [toOklab(left), toOklab(right)];
  return 100 * Math.hypot(...l.map((part, index) => part - r[index]!));
}

/** The hue of a colour in OKLab, in degrees from 0. */
export function toHue(colour: Colour): number {
  const [, green = 0, blue = 0] = toOklab(colour);
  return (Math.atan2(blue, green) * (180 / Math.PI) + 360) % 360;
}

/** What the colour looks like to an eye without one kind of cone: Machado, Oliveira and Fernandes 2009, severity 1. */
export function simulate(colour: Colour, sight: Sight): Colour {
  const [red, green, blue] = SIGHTS[sight].map((row) =>
    Math.min(1, Math.max(0, row[0] * colour[0] + row[1] * colour[1] + row[2] * colour[2])),
  );
  return [red!, green!, blue!];
}

type Weights = readonly (readonly [number, number, number])[];

const SIGHTS: Readonly<Record<Sight, Weights>> = {
  full: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function toLinear(part: number): number {
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}

function toLuminance([red, green, blue]: Colour): number {
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Björn Ottosson's OKLab, from linear sRGB. */
function toOklab([red, green, blue]: Colour): readonly number[] {
  const long = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const medium = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const short = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  return [
    0.2104542553 * long + 0.793617785 * medium - 0.0040720468 * short,
    1.9779984951 * long - 2.428592205 * medium + 0.4505937099 * short,
    0.0259040371 * long + 0.7827717662 * medium - 0.808675766 * short,
  ];
}

import { type ReactNode } from "react";

/** One drawing a name: strokes of 1.5 on a grid of 16; a dot is a stroke of no length. */
const STROKES = {
  "arrow-down": "M8 3v10M4 9l4 4 4-4",
  "arrow-right": "M3 8h10M9 4l4 4-4 4",
  "arrow-up": "M8 13V3M4 7l4-4 4 4",
  audit: "M4.5 3h-1v11h9V3h-1M6 1.75h4v2.5H6zM6 7.5h4M6 10.5h4",
  bill: "M3.5 1.75v12.5l1.5-1 1.5 1 1.5-1 1.5 1 1.5-1 1.5 1V1.75zM6 5.5h4M6 8.5h4",
  calendar: "M2.5 3.5h11v10h-11zM2.5 6.5h11M5.5 1.75v3M10.5 1.75v3",
  check: "M3 8.5l3.2 3.2L13 4.8",
  "chevron-down": "M4 6l4 4 4-4",
  "chevron-left": "M10 4L6 8l4 4",
  "chevron-right": "M6 4l4 4-4 4",
  "chevron-up": "M4 10l4-4 4 4",
  "chevrons-up-down": "M5 6l3-3 3 3M5 10l3 3 3-3",
  close: "M4 4l8 8M12 4l-8 8",
  code: "M5.5 4.5L2 8l3.5 3.5M10.5 4.5L14 8l-3.5 3.5",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  download: "M8 2.5v7.5M4.8 7L8 10.2 11.2 7M2.5 13.5h11",
  edit: "M10.8 2.7l2.5 2.5-7.8 7.8-3.2.7.7-3.2zM9 4.5L11.5 7",
  errors: "M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5zM8 5v3.5M8 11v.01",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM10 8a2 2 0 1 1-4 0 2 2 0 0 1 4 0z",
  "eye-off":
    "M4.4 4.6C2.6 5.8 1.5 8 1.5 8S4 12.5 8 12.5c1.4 0 2.6-.5 3.6-1.1M6.6 3.7A6 6 0 0 1 8 3.5c4 0 6.5 4.5 6.5 4.5s-.5.9-1.4 1.9M2.5 2.5l11 11",
  filter: "M2 3.5h12L9.5 8.8V13l-3-1.5V8.8z",
  help: "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0zM6.3 6.3a1.8 1.8 0 1 1 2.5 1.7c-.5.2-.8.5-.8 1.1M8 11.3v.01",
  info: "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0zM8 7.5v3.7M8 5v.01",
  key: "M14 5.5a3.5 3.5 0 1 1-7 0 3.5 3.5 0 0 1 7 0zM8 8l-5.5 5.5M4.3 11.7l2 2M11.2 4.8v.01",
  limit: "M2.5 11.5a5.5 5.5 0 1 1 11 0M8 11.5l2.8-3.6M2.5 13.5h11",
  link: "M6.5 9.5l3-3M7 4.5l1.5-1.5a3.2 3.2 0 0 1 4.5 4.5L11.5 9M9 11.5L7.5 13A3.2 3.2 0 0 1 3 8.5L4.5 7",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  models: "M8 1.8l5.5 3v6.4L8 14.2l-5.5-3V4.8zM2.5 4.8L8 8l5.5-3.2M8 8v6.2",
  moon: "M13.5 9.5a5.8 5.8 0 0 1-7-7 5.8 5.8 0 1 0 7 7z",
  overview: "M2.5 2.5H7v6H2.5zM9.5 2.5h4V6h-4zM9.5 8.5h4v5h-4zM2.5 11H7v2.5H2.5z",
  people:
    "M8.5 5.5a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0zM1.5 13.5c0-2.4 2-4 4.5-4s4.5 1.6 4.5 4M10.7 3.2a2.5 2.5 0 0 1 0 4.6M12.2 9.8c1.5.6 2.3 1.9 2.3 3.7",
  play: "M4.5 3l8 5-8 5z",
  playground: "M2.5 3h11v8.5H8L4.8 14v-2.5H2.5zM5 6h6M5 8.6h4",
  plus: "M8 3v10M3 8h10",
  pricing: "M2.5 2.5h5l6 6-5 5-6-6zM5.3 5.3v.01",
  provider: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5v.01M5 11v.01",
  refresh: "M13.5 8a5.5 5.5 0 1 1-1.6-3.9l1.6 1.6M13.5 2.5v3.2h-3.2",
  requests: "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4v.01M2.5 8v.01M2.5 12v.01",
  search: "M11.5 7a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0zM10.3 10.3l3.4 3.4",
  settings:
    "M2.5 5h5M11.5 5h2M2.5 11h2M8.5 11h5M11.5 5a2 2 0 1 1-4 0 2 2 0 0 1 4 0zM8.5 11a2 2 0 1 1-4 0 2 2 0 0 1 4 0z",
  "sign-out": "M6.5 2.5h-4v11h4M6.5 8H14M11 5l3 3-3 3",
  statement: "M3.5 1.75h9v12.5h-9zM6 5h4M6 8h4M8 11h2",
  stop: "M4 4h8v8H4z",
  sun: "M11 8a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM8 1.2v1.3M8 13.5v1.3M1.2 8h1.3M13.5 8h1.3M3.2 3.2l.9.9M11.9 11.9l.9.9M12.8 3.2l-.9.9M4.1 11.9l-.9.9",
  system: "M2 3h12v8H2zM5.5 13.75h5M8 11v2.75",
  token: "M2 6V4h12v2a2 2 0 0 0 0 4v2H2v-2a2 2 0 0 0 0-4zM9.5 6.4v.01M9.5 9.6v.01",
  trash: "M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.6 9h6.8l.6-9M6.8 7v4M9.2 7v4",
  upload: "M8 10V2.5M4.8 5.7L8 2.5l3.2 3.2M2.5 13.5h11",
  usage: "M2.5 13.5h11M4.5 11V8M8 11V3.5M11.5 11V6",
  user: "M10.5 5.5a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0zM3 13.5c0-2.5 2.2-4 5-4s5 1.5 5 4",
  "zoom-out": "M11.5 7a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0zM10.3 10.3l3.4 3.4M5 7h4",
  warning: "M8 2.2l6.5 11.3h-13zM8 6.5v3M8 11.6v.01",
} as const;

export type IconName = keyof typeof STROKES;

export interface IconProps {
  readonly name: IconName;
  /** Said to a screen reader; without it the icon is decoration, and the text beside it speaks. */
  readonly label?: string | undefined;
  /** Edge in pixels; 16 when absent. */
  readonly size?: number | undefined;
  readonly className?: string | undefined;
}

/** A line drawing in the colour of the text around it. */
export function Icon({ name, label, size = 16, className = "" }: IconProps): ReactNode {
  return (
    <svg
      viewBox="0 0 16 16"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      strokeWidth={1.5}
      strokeLinecap="round"
      strokeLinejoin="round"
      focusable="false"
      role={label === undefined ? undefined : "img"}
      aria-label={label}
      aria-hidden={label === undefined ? true : undefined}
      className={`inline-block shrink-0 ${className}`}
    >
      <path d={STROKES[name]} />
    </svg>
  );
}

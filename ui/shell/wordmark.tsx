/** The product's name, with a lock gate between two levels of water. */
export function Wordmark() {
  return (
    <span className="flex items-center gap-2 text-sm font-semibold tracking-tight text-ink">
      <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" className="text-accent">
        <rect x="1" y="1" width="18" height="18" rx="4" fill="currentColor" />
        <path
          d="M4 7h5M11 13h5M10 4v12"
          stroke="var(--color-accent-ink)"
          strokeWidth="1.8"
          strokeLinecap="round"
          fill="none"
        />
      </svg>
      Lockport
    </span>
  );
}

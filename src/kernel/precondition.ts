/** Judges a resource as it stands within the transaction that would change it; what it throws refuses the change. */
export type Precondition<Resource> = (current: Resource) => void;

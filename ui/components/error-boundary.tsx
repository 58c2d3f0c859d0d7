import { Component, type ReactNode } from "react";
import { forgetFailedParts } from "../lazy-part.tsx";
import { Button } from "./button.tsx";
import { ErrorNotice } from "./error-notice.tsx";

export interface ErrorBoundaryProps {
  readonly children: ReactNode;
  /** The address of the page: another value draws the children again. */
  readonly resetKey?: string | undefined;
  /** Nothing takes the place of what broke: the page can do without it. */
  readonly isQuiet?: boolean | undefined;
}

interface ErrorBoundaryState {
  readonly failure: Error | null;
  readonly resetKey: string | undefined;
}

/** Keeps what breaks inside from taking the rest of the page with it. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, ErrorBoundaryState> {
  override state: ErrorBoundaryState = { failure: null, resetKey: this.props.resetKey };

  static getDerivedStateFromError(thrown: unknown): Partial<ErrorBoundaryState> {
    return { failure: thrown instanceof Error ? thrown : new Error(String(thrown)) };
  }

  static getDerivedStateFromProps(
    { resetKey }: ErrorBoundaryProps,
    state: ErrorBoundaryState,
  ): ErrorBoundaryState | null {
    return resetKey === state.resetKey ? null : { failure: null, resetKey };
  }

  override componentDidCatch(): void {
    forgetFailedParts();
  }

  override render(): ReactNode {
    const { failure } = this.state;
    const { children, isQuiet = false } = this.props;
    if (failure === null) return children;
    if (isQuiet) return null;
    return <BrokenPage failure={failure} onRetry={() => this.setState({ failure: null })} />;
  }
}

/** What broke, its code, and the two ways on: draw again, or reload. Its heading is the page's. */
function BrokenPage(props: { readonly failure: Error; readonly onRetry: () => void }): ReactNode {
  return (
    <div className="mx-auto flex max-w-xl flex-col gap-4 py-10">
      <h1 className="text-lg font-semibold">This page could not be shown</h1>
      <ErrorNotice {...props} />
      <div>
        <Button variant="primary" icon="refresh" onClick={() => window.location.reload()}>
          Reload
        </Button>
      </div>
    </div>
  );
}

/** Pages for unknown addresses and for rendering errors. */
import { Button } from '@mantine/core';
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router';
import { messageOf } from '@/api/http';
import { EmptyState } from '@/ui/EmptyState';

export function NotFoundPage() {
  return (
    <EmptyState title="Page not found">
      <Link to="/">Go to the overview</Link>
    </EmptyState>
  );
}

export function RouteError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const retry = () => {
    reset();
    void router.invalidate();
  };
  return (
    <EmptyState title="This page could not be displayed">
      <span>{messageOf(error)}</span>
      <Button variant="default" onClick={retry}>
        Try again
      </Button>
    </EmptyState>
  );
}

/** Pages for addresses that lead nowhere and for pages that break. */
import { Button } from '@mantine/core';
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router';
import { messageOf } from '@/api/http';
import { EmptyState } from '@/ui/EmptyState';

export function NotFoundPage() {
  return (
    <EmptyState title="There is no such page">
      <Link to="/">Go to the overview</Link>
    </EmptyState>
  );
}

export function RouteError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const again = () => {
    reset();
    void router.invalidate();
  };
  return (
    <EmptyState title="This page could not be shown">
      <span>{messageOf(error)}</span>
      <Button variant="default" onClick={again}>
        Try again
      </Button>
    </EmptyState>
  );
}

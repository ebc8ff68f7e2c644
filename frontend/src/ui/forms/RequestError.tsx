/** Error message of a refused request. */
import { Alert } from '@mantine/core';
import type { RequestFailure } from './useSubmit';

interface Props {
  failure: RequestFailure | undefined;
  className?: string | undefined;
}

export function RequestError({ failure, className }: Props) {
  if (!failure) return null;
  return (
    <Alert color="red" role="alert" className={className ?? ''}>
      {failure.text}
    </Alert>
  );
}

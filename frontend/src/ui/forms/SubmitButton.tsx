/** Button that sends a request. It is disabled while the console is unreachable, and its tooltip contains the reason. */
import { Button, type ButtonProps } from '@mantine/core';
import type { ButtonHTMLAttributes } from 'react';
import { useDisconnectedReason } from '@/lib/connection';

type Props = ButtonProps & Omit<ButtonHTMLAttributes<HTMLButtonElement>, keyof ButtonProps>;

export function SubmitButton({ disabled, title, ...props }: Props) {
  const reason = useDisconnectedReason();
  return (
    <Button
      {...props}
      disabled={disabled || reason !== undefined}
      title={reason ?? title}
      aria-description={reason}
    />
  );
}

/** Collapsed fields that are rarely changed. */
import type { ReactNode } from 'react';
import classes from './forms.module.css';

interface Props {
  summary: string;
  children: ReactNode;
}

export function MoreFields({ summary, children }: Props) {
  return (
    <details>
      <summary>{summary}</summary>
      <div className={classes.more}>{children}</div>
    </details>
  );
}

/** Placeholder that explains an empty page and what to do next. */
import type { ReactNode } from 'react';
import classes from './ui.module.css';

export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={classes.empty}>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

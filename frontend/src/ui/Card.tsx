/** Bordered box with an optional header. */
import type { ReactNode } from 'react';
import classes from './ui.module.css';

interface Props {
  title?: string;
  headerEnd?: ReactNode;
  children: ReactNode;
  /** Whether to omit the padding, because tables have padding. */
  flush?: boolean;
  className?: string;
}

export function Card({ title, headerEnd, children, flush, className }: Props) {
  return (
    <section className={[classes.card, className].filter(Boolean).join(' ')} aria-label={title}>
      {title && (
        <header className={classes.cardHeader}>
          <h2>{title}</h2>
          {headerEnd}
        </header>
      )}
      {flush ? children : <div className={classes.cardBody}>{children}</div>}
    </section>
  );
}

/** Bordered box with an optional header. */
import type { ReactNode } from 'react';
import classes from './ui.module.css';

interface Props {
  title?: string;
  aside?: ReactNode;
  children: ReactNode;
  /** Whether to omit the padding, because tables have padding. */
  flush?: boolean;
  className?: string;
}

export function Card({ title, aside, children, flush, className }: Props) {
  return (
    <section className={[classes.card, className].filter(Boolean).join(' ')} aria-label={title}>
      {title && (
        <header className={classes.cardHead}>
          <h2>{title}</h2>
          {aside}
        </header>
      )}
      {flush ? children : <div className={classes.cardBody}>{children}</div>}
    </section>
  );
}

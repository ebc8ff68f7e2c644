/** Placeholders for content that is loading. */
import { Skeleton } from '@mantine/core';
import classes from './ui.module.css';

/** Placeholder of a page: header and boxes. */
export function PageSkeleton() {
  return (
    <div className={classes.skeletons} aria-busy>
      <span className="sr-only">Loading</span>
      <Skeleton height={28} width={220} />
      <Skeleton height={170} />
      <Skeleton height={170} />
    </div>
  );
}

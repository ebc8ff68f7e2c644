/** Where something will stand once it has been read. */
import { Skeleton } from '@mantine/core';
import classes from './ui.module.css';

/** A page: its head and some boxes. */
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

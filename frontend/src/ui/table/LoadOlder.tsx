/** Footer of a list, newest first, with a button that loads older pages. */
import { Button } from '@mantine/core';
import { plural } from '@/lib/format';
import classes from '../ui.module.css';

interface Props {
  count: number;
  /** Singular noun for the items. */
  noun: string;
  query: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
}

export function LoadOlder({ count, noun, query }: Props) {
  if (count === 0) return null;
  return (
    <div className={classes.older}>
      <span className="dim num">
        {query.hasNextPage
          ? `The newest ${plural(count, noun)} shown`
          : `All ${plural(count, noun)} shown`}
      </span>
      {query.hasNextPage && (
        <Button
          variant="default"
          loading={query.isFetchingNextPage}
          onClick={() => query.fetchNextPage()}
        >
          Load older {noun}s
        </Button>
      )}
    </div>
  );
}

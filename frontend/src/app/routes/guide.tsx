/** Page of the guide. */
import { useQuery } from '@tanstack/react-query';
import { useLocation, useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import { GuideText } from '@/features/guide/GuideText';
import { guideQuery } from '@/features/guide/guidePages';
import { EmptyState } from '@/ui/EmptyState';
import { PageSkeleton } from '@/ui/Skeletons';
import classes from './pages.module.css';

export function GuidePage() {
  const { page } = useParams({ from: '/shell/guide/$page' });
  const { hash } = useLocation();
  const { data: blocks } = useQuery(guideQuery(page));
  useEffect(() => {
    // The router scrolled before the text was loaded.
    if (blocks && hash) document.getElementById(hash)?.scrollIntoView({ block: 'center' });
  }, [blocks, hash]);
  if (blocks === undefined) return <PageSkeleton />;
  if (blocks === null)
    return <EmptyState title="Page not found">The guide has no page “{page}”.</EmptyState>;
  return (
    <div className={classes.page}>
      <GuideText page={page} blocks={blocks} target={hash} />
    </div>
  );
}

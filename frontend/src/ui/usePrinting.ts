/** Whether the browser prints the page. */
import { useSyncExternalStore } from 'react';
import { printing } from '@/lib/printing';

export const usePrinting = (): boolean => useSyncExternalStore(printing.subscribe, printing.get);

/** Size with a binary unit, and the exact number of bytes on hover. */
import { format, formatExact } from '@/lib/format';

export function Bytes({ value }: { value: number | null | undefined }) {
  return (
    <span className="num" title={formatExact('bytes', value)}>
      {format('bytes', value)}
    </span>
  );
}

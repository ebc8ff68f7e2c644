/** A dash for a missing value. The reason is shown on hover and to screen readers. */
export function Dash({ reason }: { reason: string }) {
  return (
    <abbr className="dash" title={reason}>
      –
    </abbr>
  );
}

/** A dash for a missing value. The reason is shown on hover and to screen readers. */
export function Dash({ why }: { why: string }) {
  return (
    <abbr className="dash" title={why}>
      –
    </abbr>
  );
}

/** Where there is nothing to show: says why when it is pointed at, and to screen readers. */
export function Dash({ why }: { why: string }) {
  return (
    <abbr className="dash" title={why}>
      –
    </abbr>
  );
}

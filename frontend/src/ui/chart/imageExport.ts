/** Export of a chart as an image with title, object, time range and legend. */
import { resolveColor } from './palette';

export interface Caption {
  title: string;
  /** Object and time range. */
  subtitle: string;
  entries: readonly { label: string; color: string }[];
}

const PAD = 12;
const HEADER_HEIGHT = 48;
const ROW = 22;
const SWATCH = 10;
const GAP = 18;
const FONT = 'system-ui, sans-serif';

/** Render a chart with its caption to a PNG, with a solid background and the resolution of the plot. */
export function renderImage(plot: HTMLCanvasElement, caption: Caption): Promise<Blob> {
  const ratio = window.devicePixelRatio || 1;
  const out = document.createElement('canvas');
  const context = out.getContext('2d');
  if (!context) return Promise.reject(new Error('no image'));
  const width = plot.width / ratio;
  context.font = `12px ${FONT}`;
  const positions = layoutLegend(
    caption.entries.map(({ label }) => context.measureText(label).width),
    width,
  );
  const height =
    HEADER_HEIGHT + plot.height / ratio + ROW * ((positions.at(-1)?.row ?? -1) + 1) + PAD / 2;
  out.width = plot.width;
  out.height = Math.round(height * ratio);
  context.scale(ratio, ratio);
  context.fillStyle = resolveColor('var(--surface)');
  context.fillRect(0, 0, width, height);
  context.textBaseline = 'middle';
  write(context, `600 15px ${FONT}`, 'var(--text)', caption.title, PAD, 17);
  write(context, `12px ${FONT}`, 'var(--text-dim)', caption.subtitle, PAD, 36);
  context.drawImage(plot, 0, HEADER_HEIGHT, width, plot.height / ratio);
  caption.entries.forEach(({ label, color }, index) => {
    const { x, row } = positions[index] ?? { x: PAD, row: 0 };
    const y = HEADER_HEIGHT + plot.height / ratio + ROW * (row + 0.5);
    context.fillStyle = resolveColor(color);
    context.fillRect(x, y - 2, SWATCH, 4);
    write(context, `12px ${FONT}`, 'var(--text)', label, x + SWATCH + 5, y);
  });
  return new Promise((resolve, reject) => {
    out.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('no image'))), 'image/png');
  });
}

/** Return the positions of legend entries, in as many rows as necessary. */
export function layoutLegend(
  widths: readonly number[],
  width: number,
): readonly { x: number; row: number }[] {
  let x = PAD;
  let row = 0;
  return widths.map((labelWidth) => {
    const entryWidth = SWATCH + 5 + labelWidth;
    if (x > PAD && x + entryWidth > width - PAD) {
      x = PAD;
      row += 1;
    }
    const position = { x, row };
    x += entryWidth + GAP;
    return position;
  });
}

function write(
  context: CanvasRenderingContext2D,
  font: string,
  color: string,
  text: string,
  x: number,
  y: number,
): void {
  context.font = font;
  context.fillStyle = resolveColor(color);
  context.fillText(text, x, y);
}

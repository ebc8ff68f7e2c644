/** Copying, with a way out where the browser does not allow it. */

export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  // Plain HTTP from another machine has no clipboard API; a selection still can be copied.
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

/** Copies the canvas with its title on a solid ground, or downloads it; says which. */
export async function copyImage(canvas: HTMLCanvasElement, title: string): Promise<string> {
  const blob = await withTitle(canvas, title);
  try {
    await navigator.clipboard.write([new ClipboardItem({ 'image/png': blob })]);
    return 'PNG copied';
  } catch {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = `${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    return 'PNG saved';
  }
}

async function withTitle(canvas: HTMLCanvasElement, title: string): Promise<Blob> {
  const head = 32;
  const out = document.createElement('canvas');
  out.width = canvas.width;
  out.height = canvas.height + head;
  const context = out.getContext('2d');
  const style = getComputedStyle(document.documentElement);
  if (context) {
    context.fillStyle = style.getPropertyValue('--surface');
    context.fillRect(0, 0, out.width, out.height);
    context.fillStyle = style.getPropertyValue('--text');
    context.font = '600 16px system-ui, sans-serif';
    context.fillText(title, 12, 22);
    context.drawImage(canvas, 0, head);
  }
  return new Promise((resolve, reject) => {
    out.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('no image'))), 'image/png');
  });
}

/** Copy to the clipboard, with fallbacks for browsers that do not allow it. */
import { download } from './download';

export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  // Browsers have no clipboard API on plain HTTP from another machine, but can copy a selection.
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

/** Copy an image, or download it under that name; return a text that says which. */
export async function copyImage(blob: Blob, name: string): Promise<string> {
  try {
    await navigator.clipboard.write([new ClipboardItem({ 'image/png': blob })]);
    return 'PNG copied';
  } catch {
    download(`${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.png`, blob);
    return 'PNG saved';
  }
}

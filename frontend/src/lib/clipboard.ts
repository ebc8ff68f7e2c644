/** Copying, with a way out where the browser does not allow it. */
import { download } from './download';

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

/** Copies an image, or downloads it under that name; says which. */
export async function copyImage(blob: Blob, name: string): Promise<string> {
  try {
    await navigator.clipboard.write([new ClipboardItem({ 'image/png': blob })]);
    return 'PNG copied';
  } catch {
    download(`${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.png`, blob);
    return 'PNG saved';
  }
}

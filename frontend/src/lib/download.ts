/** Download content as a file. */

export function download(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
}

export const downloadText = (name: string, text: string) =>
  download(name, new Blob([text], { type: 'text/plain;charset=utf-8' }));

/** Detection of forms that the user has started to fill in, so that the page is not left without a question. */

const touched = new Set<Element>();

/** Watch the forms of the page. Returns a function that stops this. */
export function watchInput(): () => void {
  const onInput = ({ target }: Event) => {
    const form = target instanceof Element ? target.closest('form') : null;
    if (form) touched.add(form);
  };
  // Selections in lists change no native input, but start with one of the other events.
  const names = ['input', 'keydown', 'pointerdown'] as const;
  for (const name of names) document.addEventListener(name, onInput, true);
  return () => {
    for (const name of names) document.removeEventListener(name, onInput, true);
    touched.clear();
  };
}

/** Return whether the page has a form that the user has used. */
export function hasUsedForm(): boolean {
  for (const form of touched) if (!form.isConnected) touched.delete(form);
  return touched.size > 0;
}

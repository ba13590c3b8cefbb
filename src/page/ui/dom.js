/** @typedef {Node | string | number | false | null | undefined} Child */
/** @typedef {Record<string, string | number | boolean | undefined | ((event: any) => unknown)>} Props */

/**
 * Makes an element. Children that are not nodes become text, never markup: whatever a tool or a model says is shown as it is.
 * `onclick` and the like are listeners; `true` is an attribute without a value; `false` and undefined are none.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Props} [props]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value)
    else if (value !== undefined && value !== false)
      element.setAttribute(name === 'className' ? 'class' : name, value === true ? '' : String(value))
  }
  append(element, ...children)
  return element
}

/**
 * @param {Node} parent
 * @param {...(Child | Child[])} children
 */
export function append(parent, ...children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)))
  }
}

/**
 * Changes an element's text, and nothing where it is the same already: selections and screen readers are left in peace.
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text
}

/**
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function replace(element, ...children) {
  element.replaceChildren()
  append(element, ...children)
}

/**
 * Makes a list's elements those of the items, in their order. An item's element stays the same one, with focus and scroll position.
 * @template Item
 * @template {HTMLElement} El
 * @param {HTMLElement} list
 * @param {readonly Item[]} items
 * @param {{ key(item: Item): string, create(item: Item): El, update?(element: El, item: Item): void }} how
 */
export function renderList(list, items, { key, create, update }) {
  const known = new Map([...list.children].map((element) => [/** @type {HTMLElement} */ (element).dataset.key, element]))
  // First: what stays need not be moved then, and keeps the focus.
  const names = items.map(key)
  const wanted = new Set(names)
  for (const [name, element] of known) if (name === undefined || !wanted.has(name)) element.remove()
  let place = list.firstElementChild
  for (const [at, item] of items.entries()) {
    const name = names[at] ?? ''
    let element = /** @type {El | undefined} */ (known.get(name))
    if (element === undefined) {
      element = create(item)
      element.dataset.key = name
    }
    update?.(element, item)
    if (element === place) place = place.nextElementSibling
    else list.insertBefore(element, place)
  }
}

let lastId = 0
/** A name for an element, for labels and descriptions to point to. */
export function newId() {
  return `e${++lastId}`
}

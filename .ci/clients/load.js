/** Imports a package from this folder, as a program here does. */
export const load = (name) => import(name)

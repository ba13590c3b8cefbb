/** Declarations as the compiler writes them, with every place of an optional field. */
export const emitted = `import { Server } from 'node:http';
/** \`a?: string\` it's one. */
export interface Options<T> {
    a?: string;
    readonly b?: (x?: number) => string | undefined;
    c?(x: T, inner: { d?: 'a?: b' }): void;
    e?: {
        f?: string;
    };
    g?: T extends string ? 1 : 2;
    h?: Map<string, { i?: number }>;
    j?: undefined;
    "k"?: string;
    server?: Server;
}
export declare class Base {
    #private;
    readonly x?: string;
    perform?(a?: string): void;
    [Symbol.asyncDispose](): Promise<void>;
}
export type Pair = [first?: string, second?: number];
export declare function take(a?: string, options?: { b?: string }): asserts a is string;
`

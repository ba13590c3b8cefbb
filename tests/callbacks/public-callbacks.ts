import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  API,
  type Checker,
  ModifierFlags,
  type Program,
  SignatureKind,
  SymbolFlags,
  type Symbol as TsSymbol,
  type Type,
} from 'typescript/unstable/sync'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The declarations whose types are walked: this package's, and those of packages that callers implement for it. */
const walked = /^(?:src\/|node_modules\/(?:@opentelemetry\/api|@standard-schema\/spec)\/)/

/** The sources of the package's entries. */
function entryFiles(): string[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { types: string }>
  }
  return Object.values(exports).flatMap((entry) =>
    typeof entry === 'string' ? [] : [join(root, entry.types.replace('./dist/', 'src/').replace('.d.ts', '.ts'))],
  )
}

/**
 * Every function that a program can hand to the package, by the public types: `Type.member` for members, as the type that declares them is
 * called, `function(parameter)` and `Class.method(parameter)` for parameters.
 *
 * What the package takes is what stands where a value goes in: in parameters of its functions, in what callbacks return, in methods that a
 * subclass may override. What it gives is not followed, except for what goes in again through its parameters.
 */
export function publicCallbacks(): string[] {
  using api = open()
  return new Walk(api.checker, api.program).all(entryFiles())
}

function open() {
  const api = new API()
  const snapshot = api.updateSnapshot({ openProjects: [join(root, 'tsconfig.json')] })
  const [project] = snapshot.getProjects()
  if (project === undefined) throw new Error('Expected tsconfig.json to be a project')
  return { checker: project.checker, program: project.program, [Symbol.dispose]: () => api.close() }
}

class Walk {
  readonly #checker: Checker
  readonly #program: Program
  readonly #found = new Set<string>()
  readonly #seen = new Set<string>()

  constructor(checker: Checker, program: Program) {
    this.#checker = checker
    this.#program = program
  }

  all(files: readonly string[]): string[] {
    for (const file of files) {
      const source = this.#program.getSourceFile(file)
      const module = source && this.#checker.getSymbolAtLocation(source)
      if (module === undefined) throw new Error(`Expected ${file} to be a module`)
      for (const symbol of this.#checker.getExportsOfModule(module)) this.#exported(symbol)
    }
    return [...this.#found].sort()
  }

  #exported(symbol: TsSymbol): void {
    const target = symbol.flags & SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol
    if (!(target.flags & SymbolFlags.Value)) return
    const type = this.#checker.getTypeOfSymbol(target)
    if (type !== undefined) this.#given(type, symbol.name)
    if (target.flags & SymbolFlags.Class) {
      const instance = this.#checker.getDeclaredTypeOfSymbol(target)
      this.#given(instance, symbol.name)
      this.#overridden(instance)
    }
  }

  /** A value of the package. Its functions take their arguments and give their results. */
  #given(type: Type, name: string): void {
    if (this.#isSeen('out', type)) return
    for (const kind of [SignatureKind.Call, SignatureKind.Construct])
      for (const signature of this.#checker.getSignaturesOfType(type, kind)) this.#parameters(signature, name)
    if (type.isUnionType() || type.isIntersectionType()) {
      for (const one of type.getTypes() ?? []) this.#given(one, name)
      return
    }
    if (!this.#isOurs(type.getSymbol())) return
    for (const member of this.#checker.getPropertiesOfType(type)) {
      const memberType = this.#checker.getTypeOfSymbol(member)
      if (memberType !== undefined && this.#isOurs(member) && !isPrivate(member)) this.#given(memberType, `${name}.${member.name}`)
    }
  }

  #parameters(signature: Parameters<Checker['getReturnTypeOfSignature']>[0], name: string): void {
    for (const parameter of signature.getParameters()) {
      const type = this.#checker.getTypeOfSymbol(parameter)
      if (type !== undefined) this.#taken(type, `${name}(${parameter.name})`)
    }
    const returned = this.#checker.getReturnTypeOfSignature(signature)
    if (returned !== undefined) this.#given(returned, name)
  }

  /** A value that the package takes. */
  #taken(type: Type, name: string): void {
    const calls = this.#checker.getSignaturesOfType(type, SignatureKind.Call)
    if (calls.length > 0) this.#found.add(name)
    if (this.#isSeen('in', type)) return
    for (const call of calls) {
      const returned = this.#checker.getReturnTypeOfSignature(call)
      if (returned !== undefined) this.#taken(returned, `${name}()`)
      for (const parameter of call.getParameters()) {
        const given = this.#checker.getTypeOfSymbol(parameter)
        if (given !== undefined) this.#given(given, name)
      }
    }
    if (type.isUnionType() || type.isIntersectionType()) {
      for (const one of type.getTypes() ?? []) this.#taken(one, name)
      return
    }
    if (type.isTypeParameter()) {
      const constraint = this.#checker.getBaseConstraintOfType(type)
      if (constraint !== undefined) this.#taken(constraint, name)
      return
    }
    if (type.isTypeReference()) for (const argument of this.#checker.getTypeArguments(type)) this.#taken(argument, name)
    const symbol = type.getSymbol()
    for (const index of this.#checker.getIndexInfosOfType(type)) this.#taken(index.valueType, `${name}[]`)
    // Only the class itself can make an object of a class with private fields.
    if (
      symbol !== undefined &&
      symbol.flags & (SymbolFlags.Class | SymbolFlags.Interface) &&
      (symbol.flags & SymbolFlags.Class || !this.#isOurs(symbol))
    )
      return
    for (const member of this.#checker.getPropertiesOfType(type)) this.#member(member, name)
  }

  #member(member: TsSymbol, name: string): void {
    if (!this.#isOurs(member) || isPrivate(member)) return
    const type = this.#checker.getTypeOfSymbol(member)
    if (type === undefined) return
    this.#taken(type, `${this.#declaring(member) ?? name}.${member.name}`)
  }

  /** The interface or class that a member is declared in. */
  #declaring(member: TsSymbol): string | undefined {
    const node = member.declarations[0]?.resolve()?.parent
    return node !== undefined && 'name' in node && node.name !== undefined ? (node.name as { text: string }).text : undefined
  }

  /** The members that a subclass provides: abstract, protected or optional ones. */
  #overridden(type: Type): void {
    for (const member of this.#checker.getPropertiesOfType(type)) {
      const memberType = this.#checker.getTypeOfSymbol(member)
      const node = member.declarations[0]?.resolve()
      if (memberType === undefined || node === undefined || isPrivate(member)) continue
      const flags = 'modifierFlags' in node ? Number(node.modifierFlags) : 0
      const isGiven = flags & (ModifierFlags.Abstract | ModifierFlags.Protected) || member.flags & SymbolFlags.Optional
      if (isGiven) this.#taken(memberType, `${this.#declaring(member)}.${member.name}`)
    }
  }

  #isSeen(direction: string, type: Type): boolean {
    const key = `${direction} ${type.id}`
    if (this.#seen.has(key)) return true
    this.#seen.add(key)
    return false
  }

  /** Declared in the package's sources. Other declarations belong to their own package. */
  #isOurs(symbol: TsSymbol | undefined): boolean {
    return symbol?.declarations.some(({ path }) => walked.test(relative(root, path))) === true
  }
}

function isPrivate({ name }: TsSymbol): boolean {
  return name.includes('#') || name.startsWith('__@')
}

import { Component, type ComponentClass, createElement, type FunctionComponent } from 'preact'

/** Returns a component that re-renders only if one of its props changes. Used for the rows of long lists. */
export function memo<Props extends object>(Inner: FunctionComponent<Props>): ComponentClass<Props> {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      return Object.entries(next).some(([name, value]) => value !== Reflect.get(this.props, name))
    }
    render() {
      return createElement(Inner, this.props)
    }
  }
}

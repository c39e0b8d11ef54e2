// Refused: never profiled.
package main

import "os"

//go:noinline
func handler(n int) int { return n + 1 }

func main() {
	os.Stdout.WriteString("400 intervals\n")
	os.Exit(handler(-1))
}

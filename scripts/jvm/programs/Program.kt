sealed interface Shape
data class Circle(val radius: Double) : Shape
data class Square(val side: Double) : Shape

class Closing(val name: String) : AutoCloseable {
    override fun close() = println("closed $name")
}

fun area(shape: Shape): Double = when (shape) {
    is Circle -> 3.0 * shape.radius * shape.radius
    is Square -> shape.side * shape.side
}

fun numbers() = sequence {
    var n = 1
    while (true) {
        yield(n)
        n = if (n % 2 == 0) n / 2 else 3 * n + 1
        if (n == 27) yield(-1)
    }
}

fun main() {
    println(listOf(Circle(1.5), Square(2.0)).sumOf(::area))
    println(numbers().take(20).groupBy { it % 3 }.toSortedMap())
    val text = try { Closing("one").use { error("thrown in ${it.name}") } } catch (e: IllegalStateException) { e.message }
    println(text)
    val lock = Any()
    println(synchronized(lock) { (1..100).filter { it % 7 == 0 }.joinToString { "<$it>" } })
    println(runCatching { "x".toInt() }.exceptionOrNull()?.javaClass?.simpleName)
}

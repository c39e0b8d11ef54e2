sealed trait Tree
case class Leaf(value: Int) extends Tree
case class Node(left: Tree, right: Tree) extends Tree

trait Named { def name: String; lazy val shout: String = name.toUpperCase }
class Person(val name: String) extends Named

object Program {
  def sum(tree: Tree): Int = tree match {
    case Leaf(value) => value
    case Node(left, right) => sum(left) + sum(right)
  }
  def tree(depth: Int): Tree = if (depth == 0) Leaf(depth + 1) else Node(tree(depth - 1), tree(depth - 1))
  def main(arguments: Array[String]): Unit = {
    println(sum(tree(10)))
    println(new Person("somebody").shout)
    val parsed = List("1", "x", "3").map(text => scala.util.Try(text.toInt)).map(_.getOrElse(-1))
    println(parsed.zip(LazyList.from(1)).map { case (a, b) => a * b })
    println((for (a <- 1 to 20; b <- a to 20; c = math.sqrt(a * a + b * b) if c.isWhole) yield (a, b, c.toInt)).mkString(" "))
    println(try { sys.error("thrown") } catch { case e: RuntimeException => e.getMessage } finally println("finally"))
  }
}

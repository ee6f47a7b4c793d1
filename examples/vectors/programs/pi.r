# Pi by the midpoint rule.
integrate <- function(f, from, to, n) {
  h <- (to - from) / n
  middles <- from + h * (1:n - 0.5)
  h * sum(sapply(middles, f))
}

main <- function(n: number) integrate(function(x) 4 / (1 + x ^ 2), 0, 1, n)

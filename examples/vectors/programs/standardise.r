# How far each value lies from the mean, in deviations; only those above it.
standardise <- function(x) {
  m <- mean(x)
  (x - m) / sd(x)
}

main <- function(x) {
  z <- standardise(x)
  z[z > 0]
}

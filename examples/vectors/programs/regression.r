# The line through points: slope, intercept, and how much of y it explains.
main <- function(x, y) {
  dx <- x - mean(x)
  dy <- y - mean(y)
  slope <- dx %*% dy / (dx %*% dx)
  intercept <- mean(y) - slope * mean(x)
  residuals <- y - (slope * x + intercept)
  c(slope, intercept, 1 - residuals %*% residuals / (dy %*% dy))
}

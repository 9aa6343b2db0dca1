// adc opt --passes=fuse-sweeps,tidy
// The forward sweep sums f(x, b), the reverse sweep adds to one row of %g in all iterations: one loop does both.

func.func @f(%x: memref<?x?xf64>, %b: memref<?xf64>, %g: memref<?xf64> {adc.shadow = 1}) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?x?xf64>
  %m = memref.dim %x, 1 : memref<?x?xf64>
  %total = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %row = scf.parallel (%j) = (%c0) to (%m) step (%c1) init (%zero) -> f64 {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %s = memref.load %b[%j] : memref<?xf64>
      %p = arith.mulf %a, %s : f64
      %v = math.sin %p : f64
      scf.reduce(%v : f64) {kinds = ["add"]}
    }
    scf.reduce(%row : f64) {kinds = ["add"]}
  }
  scf.parallel (%k) = (%c0) to (%n) step (%c1) {
    scf.parallel (%l) = (%c0) to (%m) step (%c1) {
      %a = memref.load %x[%k, %l] : memref<?x?xf64>
      %s = memref.load %b[%l] : memref<?xf64>
      %p = arith.mulf %a, %s : f64
      %c = math.cos %p : f64
      %d = arith.mulf %c, %a fastmath<contract> : f64
      adc.accumulate %d, %g[%l] : memref<?xf64>
      scf.reduce()
    } {adc.reverse = true}
    scf.reduce()
  } {adc.reverse = true}
  func.return %total : f64
}

// becomes
func.func @f(%x: memref<?x?xf64>, %b: memref<?xf64>, %g: memref<?xf64> {adc.shadow = 1}) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?x?xf64>
  %m = memref.dim %x, 1 : memref<?x?xf64>
  %total = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %row = scf.parallel (%j) = (%c0) to (%m) step (%c1) init (%zero) -> f64 {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %s = memref.load %b[%j] : memref<?xf64>
      %p = arith.mulf %a, %s : f64
      %v = math.sin %p : f64
      %c = math.cos %p : f64
      %d = arith.mulf %c, %a fastmath<contract> : f64
      adc.accumulate %d, %g[%j] : memref<?xf64>
      scf.reduce(%v : f64) {kinds = ["add"]}
    }
    scf.reduce(%row : f64) {kinds = ["add"]}
  }
  func.return %total : f64
}

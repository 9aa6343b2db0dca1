// adc opt --passes=licm
// The sine is the same in each iteration. So is x[k], but in a loop with no iteration it is not loaded: the load stays where
// it is. In @certain there is at least one iteration.

func.func @perhaps(%x: memref<?xf64>, %k: index, %n: index, %a: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero) -> (f64) {
    %b = math.sin %a : f64
    %y = memref.load %x[%k] : memref<?xf64>
    %z = arith.mulf %b, %y : f64
    %u = arith.addf %t, %z : f64
    scf.yield %u : f64
  }
  func.return %s : f64
}

func.func @certain(%x: memref<?xf64>, %k: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %zero) -> (f64) {
    %y = memref.load %x[%k] : memref<?xf64>
    %u = arith.addf %t, %y : f64
    scf.yield %u : f64
  }
  func.return %s : f64
}

// becomes
func.func @perhaps(%x: memref<?xf64>, %k: index, %n: index, %a: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %b = math.sin %a : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero) -> (f64) {
    %y = memref.load %x[%k] : memref<?xf64>
    %z = arith.mulf %b, %y : f64
    %u = arith.addf %t, %z : f64
    scf.yield %u : f64
  }
  func.return %s : f64
}

func.func @certain(%x: memref<?xf64>, %k: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f64
  %y = memref.load %x[%k] : memref<?xf64>
  %s = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %zero) -> (f64) {
    %u = arith.addf %t, %y : f64
    scf.yield %u : f64
  }
  func.return %s : f64
}

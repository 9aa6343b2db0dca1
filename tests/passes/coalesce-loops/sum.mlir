// adc opt --passes=coalesce-loops,tidy
// A sum over all elements of three axes is a sum over one loop; where a factor changes from plane to plane, over two.

func.func @f(%x: memref<?x?x?xf64>, %s: memref<?xf64>) -> (f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?x?x?xf64>
  %m = memref.dim %x, 1 : memref<?x?x?xf64>
  %l = memref.dim %x, 2 : memref<?x?x?xf64>
  %all = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %plane = scf.parallel (%j) = (%c0) to (%m) step (%c1) init (%zero) -> f64 {
      %row = scf.parallel (%k) = (%c0) to (%l) step (%c1) init (%zero) -> f64 {
        %a = memref.load %x[%i, %j, %k] : memref<?x?x?xf64>
        %b = arith.mulf %a, %a : f64
        scf.reduce(%b : f64) {kinds = ["add"]}
      }
      scf.reduce(%row : f64) {kinds = ["add"]}
    }
    scf.reduce(%plane : f64) {kinds = ["add"]}
  } {threads = true}
  %scaled = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %plane = scf.parallel (%j) = (%c0) to (%m) step (%c1) init (%zero) -> f64 {
      %row = scf.parallel (%k) = (%c0) to (%l) step (%c1) init (%zero) -> f64 {
        %a = memref.load %x[%i, %j, %k] : memref<?x?x?xf64>
        %t = memref.load %s[%i] : memref<?xf64>
        %b = arith.mulf %a, %t : f64
        scf.reduce(%b : f64) {kinds = ["add"]}
      }
      scf.reduce(%row : f64) {kinds = ["add"]}
    }
    scf.reduce(%plane : f64) {kinds = ["add"]}
  }
  func.return %all, %scaled : f64, f64
}

// becomes
func.func @f(%x: memref<?x?x?xf64>, %s: memref<?xf64>) -> (f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?x?x?xf64>
  %m = memref.dim %x, 1 : memref<?x?x?xf64>
  %l = memref.dim %x, 2 : memref<?x?x?xf64>
  %0 = arith.muli %n, %m : index
  %1 = arith.muli %0, %l : index
  %2 = adc.reshape %x[%1] {groups = [[3, 1]]} : memref<?x?x?xf64> to memref<?xf64>
  %all = scf.parallel (%k) = (%c0) to (%1) step (%c1) init (%zero) -> f64 {
    %a = memref.load %2[%k] : memref<?xf64>
    %b = arith.mulf %a, %a : f64
    scf.reduce(%b : f64) {kinds = ["add"]}
  } {threads = true}
  %3 = arith.muli %m, %l : index
  %4 = adc.reshape %x[%n, %3] {groups = [[1, 1], [2, 1]]} : memref<?x?x?xf64> to memref<?x?xf64>
  %scaled = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %plane = scf.parallel (%k_0) = (%c0) to (%3) step (%c1) init (%zero) -> f64 {
      %a_0 = memref.load %4[%i, %k_0] : memref<?x?xf64>
      %t = memref.load %s[%i] : memref<?xf64>
      %b_0 = arith.mulf %a_0, %t : f64
      scf.reduce(%b_0 : f64) {kinds = ["add"]}
    }
    scf.reduce(%plane : f64) {kinds = ["add"]}
  }
  func.return %all, %scaled : f64, f64
}
